// Wallet apps behind a relay, which a phone's page offers like wallets in the browser. What talks to one is loaded once a buyer
// presses its button, and only then is the relay asked for anything.
import { findWallets } from "./discovery.js";

const { bridge, wallets } = JSON.parse(document.getElementById("relay").textContent);
// As css/narrow.css tells phones.
const PHONE = "(pointer: coarse), (any-pointer: coarse) and (max-width: 560px)";

// A buyer who comes back later begins anew.
const GOES_ON_MS = 15 * 60 * 1000;

// A phone may forget the page while its wallet is open: this tab alone remembers what was begun with it.
const memory = {
  // Of one payment with one wallet: a choice of another network or token is another payment.
  nameOf({ key }) {
    const { chainId, token, to, units } = document.getElementById("wallets")?.dataset ?? {};
    return ["florin:relay", key, chainId, token, to, units].join(":");
  },
  recall(name) {
    try {
      return JSON.parse(sessionStorage.getItem(name));
    } catch {
      return null;
    }
  },
  keep(name, session) {
    try {
      if (session) sessionStorage.setItem(name, JSON.stringify(session));
      else sessionStorage.removeItem(name);
    } catch {
      // Storage is refused in some frames; then only this page knows.
    }
  },
};

function providerOf(wallet) {
  let relay = null;
  async function open() {
    const { Relay } = await import("./relay.js");
    return (relay ??= new Relay(bridge, wallet, memory));
  }
  return {
    connect: async (version, message) => (await open()).connect(version, message),
    resumeOrder: async () => (await open()).resumeOrder(),
    send: async (order) => (await open()).send(order),
    draw: () => relay?.draw(),
    isBegun() {
      const session = relay ? null : memory.recall(memory.nameOf(wallet));
      return Boolean(session?.isOpen) && Date.now() - session.at < GOES_ON_MS;
    },
  };
}

// Telegram's apps open no link but by an event of theirs, and no page in a frame opens an app.
const isAlone = window.parent === window && !window.TelegramWebviewProxy;
const { classList } = document.documentElement;
const offered = wallets.map((wallet) => ({ name: wallet.name, provider: providerOf(wallet), isRelayed: true }));

// In a wallet's own browser that wallet's bridge is in the window, at times a moment later.
const found = findWallets("ton", () => {
  for (const { provider } of offered) found.delete(provider);
  classList.remove("is-relayed");
});
if (isAlone && matchMedia(PHONE).matches && !found.size) {
  for (const wallet of offered) found.set(wallet.provider, wallet);
  classList.add("is-relayed");
}
