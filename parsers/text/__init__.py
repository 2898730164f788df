"""Words, numbers, stamps and bytes of text: nothing here knows a bundle."""
