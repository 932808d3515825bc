"""Where issuers put their tokens on main networks, by chain id. Published clients know these addresses and no others."""

USDC = {
    1: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    137: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
    8453: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
}
EURC = {8453: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"}
USDT = {1: "0xdAC17F958D2ee523a2206206994597C13D831ec7", 137: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"}
