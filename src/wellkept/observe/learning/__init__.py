"""Learning from what agents do: signals, scratchpad, validation, inference, promotion."""
