"""A result of a type: what does not fit it goes back to the model."""

from pydantic import BaseModel

from wellkept_agent import Agent


class Review(BaseModel):
    verdict: str
    problems: list[str]


agent = Agent("anthropic:claude-sonnet-4-5", output_type=Review)
review = agent.run_sync("Review: def total(order): return sum(order) / 0").output
print(f"{review.verdict}: {len(review.problems)} problem")
