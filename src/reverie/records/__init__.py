"""What the owner keeps: one module per domain over base, changes, passages and heat."""
