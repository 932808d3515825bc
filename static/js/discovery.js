// Finds a family's wallets in the browser. Older ones announce nothing, and are looked for in the window.
const FALLBACK_MS = 300;
const known = {};

// EIP-6963, and TIP-6963 after it.
function hear(prefix, add, find) {
  addEventListener(`${prefix}6963:announceProvider`, ({ detail }) => add(detail.info, detail.provider));
  dispatchEvent(new Event(`${prefix}6963:requestProvider`));
  setTimeout(() => add({}, find()), FALLBACK_MS);
}

const FAMILIES = {
  evm: (add) => hear("eip", add, () => window.ethereum),
  tron: (add) => hear("TIP", add, () => window.tron ?? window.tronLink),
  // The Wallet Standard.
  solana(add) {
    const register = (...wallets) => {
      wallets.forEach((wallet) => add(wallet, wallet));
      return () => {};
    };
    addEventListener("wallet-standard:register-wallet", ({ detail }) => detail({ register }));
    dispatchEvent(new CustomEvent("wallet-standard:app-ready", { detail: { register } }));
  },
  // TON Connect: each wallet leaves a bridge in the window, under a name of its own.
  ton(add) {
    const look = () => {
      for (const name of Object.getOwnPropertyNames(window)) {
        try {
          const bridge = window[name]?.tonconnect;
          if (bridge?.walletInfo) add(bridge.walletInfo, bridge);
        } catch {
          // A frame of another site says nothing of itself.
        }
      }
    };
    look();
    setTimeout(look, FALLBACK_MS);
  },
};

// Returns what grows with each that is found, and calls back then.
export function findWallets(family, onFound) {
  if (!known[family]) {
    const wallets = (known[family] = new Map());
    FAMILIES[family](({ name }, provider) => {
      if (!provider || wallets.has(provider) || (!name && wallets.size)) return;
      wallets.set(provider, { name, provider });
      onFound();
    });
  }
  return known[family];
}
