"""Skills: documents, where they lie, and which of them holds. Knows neither agents nor storage."""
