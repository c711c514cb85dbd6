"""What a team's server adds to the HTTP server."""
