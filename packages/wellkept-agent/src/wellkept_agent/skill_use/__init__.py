"""Skills in the loop: used by the person as `/name`, or by the model through the Skill tool.

Open `capability` first. Finding, rendering and trusting skills is not done here; it comes in
through `SkillBook`.
"""
