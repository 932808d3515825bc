// Finds wallets in the browser: EIP-6963 announcements, or what older ones put into the window.
const FALLBACK_MS = 300;

export function findWallets(onFound) {
  const wallets = new Map();
  const add = (id, name, provider) => {
    if (wallets.has(id)) return;
    wallets.set(id, { name, provider });
    onFound([...wallets.values()]);
  };
  addEventListener("eip6963:announceProvider", ({ detail: { info, provider } }) => {
    add(info.uuid, info.name, provider);
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
  setTimeout(() => {
    if (!wallets.size && window.ethereum) add("injected", "browser wallet", window.ethereum);
  }, FALLBACK_MS);
}
