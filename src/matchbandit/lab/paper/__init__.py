"""The paper's reproduction: what its figures play, draw and claim, the published numbers, and figures beyond it."""
