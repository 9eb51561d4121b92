"""Physical laws of run time and what runs leave of them: what sparkplan answers from run tables."""
