"""The planner's choice against every other candidate: in process, on Spark batch, on Spark streaming."""
