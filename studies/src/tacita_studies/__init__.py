"""Five papers repeated: `haney2017`, `tran2023`, `bowen2018`, `hu2024` and `kinney2007`, each with a `run`."""
