"""The page on which a person chooses what they are told, and a merchant's chats."""
