"""How time passes: round by round, from decision to decision, or in one compiled loop."""
