//! Who answers a prompt: language models, and the offline planner.
