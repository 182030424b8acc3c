"""How large a cluster a streaming query needs: one bucket is tried in process, the rest is arithmetic."""
