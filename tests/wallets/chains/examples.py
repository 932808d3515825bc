"""Public addresses: token contracts of each chain, and the examples of the standards themselves."""

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
SOLANA = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TON = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
TON_RAW = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
