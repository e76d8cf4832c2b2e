"""One module per driver, each with `DRIVEN: tuple[Driven, ...]`; all are found by themselves."""
