"""What ranks tell of losses, norms, digests and parts: whose went bad, alone or first."""
