"""What people look at: tables as text and as HTML, the timeline pictures, explanations for notebooks."""
