"""What every study shares: methods, experiments, settings, bars, real files, result rows, pages and pictures."""
