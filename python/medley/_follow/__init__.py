"""medley follow: a run's files, read while they are written, and sent to a tracker. Needs neither torch nor the package around it."""
