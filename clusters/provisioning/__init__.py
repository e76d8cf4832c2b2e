"""From what is wanted to what is there: plan, steps, engine."""
