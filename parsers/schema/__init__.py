"""What tables hold, what a parser is, what files carry with them."""
