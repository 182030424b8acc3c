"""The candidates for a query, and the plan: the cheapest of them."""
