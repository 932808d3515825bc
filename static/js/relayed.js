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

// Of one payment with one wallet: a choice of another network or token is another payment. Not of what the page shows: that is
// drawn anew at any time, and says a moment later what is to be paid.
const nameOf = ({ key }, { chainId, token, to, units }) => ["florin:relay", key, chainId, token, to, units].join(":");

function providerOf(wallet) {
  let relay = null;
  async function open() {
    const { Relay } = await import("./relay.js");
    return (relay ??= new Relay(bridge, wallet, memory));
  }
  return {
    // A bridge for what was to be paid when the buyer pressed.
    forPayment(request) {
      const name = nameOf(wallet, request);
      return {
        connect: async (version, message) => (await open()).connect(name, version, message),
        resumeOrder: async () => (await open()).resumeOrder(name),
        send: async (order) => (await open()).send(order),
      };
    },
    draw: () => relay?.draw(),
    isBegun(request) {
      const session = relay ? null : memory.recall(nameOf(wallet, request));
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
