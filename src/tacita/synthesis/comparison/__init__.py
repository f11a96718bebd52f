"""Methods of the papers that others are measured against, each with a true guarantee unless its page says otherwise."""
