"""Plan mode: explore, write a plan, have it approved. Open `capability` first."""
