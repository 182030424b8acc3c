"""What a window query means. Imports the standard library only."""
