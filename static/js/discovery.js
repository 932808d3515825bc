// Finds a family's wallets in the browser. Older ones announce nothing, and are looked for in the window; some come late.
const LOOKS_MS = [300, 1000, 3000];
const known = {};

function lookLater(look) {
  for (const wait of LOOKS_MS) setTimeout(look, wait);
}

// EIP-6963, and TIP-6963 after it.
function hear(prefix, add, find) {
  addEventListener(`${prefix}6963:announceProvider`, ({ detail }) => add(detail.info, detail.provider));
  dispatchEvent(new Event(`${prefix}6963:requestProvider`));
  lookLater(() => add({}, find()));
}

// OKX and Trust Wallet leave their providers for Tron in their own objects.
const findTron = () =>
  window.tron ?? window.tronLink ?? window.okxwallet?.tronLink ?? window.trustwallet?.tronLink;

const FAMILIES = {
  evm: (add) => hear("eip", add, () => window.ethereum),
  tron: (add) => hear("TIP", add, findTron),
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
    lookLater(look);
  },
};

export const FAMILY_NAMES = Object.keys(FAMILIES);

// Returns what grows with each that is found, and calls back then. One that has no name is offered only while none has.
export function findWallets(family, onFound) {
  const isNew = !known[family];
  const { wallets, callbacks } = (known[family] ??= { wallets: new Map(), callbacks: new Set() });
  callbacks.add(onFound);
  if (isNew) {
    FAMILIES[family](({ name }, provider) => {
      if (!provider || (!name && wallets.size) || wallets.get(provider)?.name) return;
      for (const other of wallets.values()) if (!other.name) wallets.delete(other.provider);
      wallets.set(provider, { name, provider });
      for (const callback of callbacks) callback();
    });
  }
  return wallets;
}
