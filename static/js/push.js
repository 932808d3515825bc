// This browser's subscription to its push service: made on the notices page, and renewed on any page of the dashboard where it ended
// or was made for a key that the server no longer has as its first.
const KEPT = "florin:push";
const CHECKED = "florin:push-checked";

// Subscribing needs an active worker. `navigator.serviceWorker.ready` waits for one that serves this page, which ours does not.
function activated(registration) {
  if (registration.active) return Promise.resolve();
  const worker = registration.installing ?? registration.waiting;
  return new Promise((resolve, reject) => {
    worker.addEventListener("statechange", () => {
      if (worker.state === "activated") resolve();
      if (worker.state === "redundant") reject(new Error("no worker"));
    });
  });
}

async function forget(registration) {
  const old = await registration.pushManager.getSubscription();
  return old ? old.unsubscribe() : false;
}

async function subscribed(registration, key) {
  const options = { userVisibleOnly: true, applicationServerKey: key };
  try {
    return await registration.pushManager.subscribe(options);
  } catch (error) {
    // It subscribed for another key before.
    if (!(await forget(registration))) throw error;
    return registration.pushManager.subscribe(options);
  }
}

// The browser's subscription for a key of the server, as `toJSON` gives it; a new one if there is none, or if the one there is lost.
export async function subscription(worker, key, isLost = false) {
  const registration = await navigator.serviceWorker.register(worker);
  await activated(registration);
  if (isLost) await forget(registration);
  return (await subscribed(registration, key)).toJSON();
}

async function digestOf(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Remembers that this browser has a subscription. Its address stays a secret: only its digest is kept.
export async function keep(endpoint, worker) {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ was: await digestOf(endpoint), worker }));
  } catch {
    // Where nothing can be kept, the person presses the button again.
  }
}

// At the first page of a session, subscribes anew where the subscription ended. `address` is the server's page for it.
export async function renew(address) {
  if (sessionStorage.getItem(CHECKED) || Notification.permission !== "granted") return;
  sessionStorage.setItem(CHECKED, "yes");
  const { was, worker } = JSON.parse(localStorage.getItem(KEPT));
  const answer = await fetch(`${address}?was=${was}`);
  // The person removed this device, or another person is logged in.
  if (!answer.ok) return;
  const { key, token, is_lost: isLost } = await answer.json();
  const { endpoint, keys } = await subscription(worker, key, isLost);
  if ((await digestOf(endpoint)) === was) return;
  const body = new URLSearchParams({ was, endpoint, p256dh: keys.p256dh, auth: keys.auth, made_for: key });
  const sent = await fetch(address, { method: "POST", headers: { "X-CSRFToken": token }, body });
  if (sent.ok) await keep(endpoint, worker);
}
