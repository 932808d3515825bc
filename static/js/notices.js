// The notices page: a button that shows notices in this browser. It asks for permission only after it is pressed.
const form = document.querySelector("form[data-push]");
const unable = document.querySelector("[data-push-unable]");
const isAble = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

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

async function subscribed(registration) {
  const options = { userVisibleOnly: true, applicationServerKey: form.dataset.key };
  try {
    return await registration.pushManager.subscribe(options);
  } catch (error) {
    // It subscribed for a key that the server no longer has as its first.
    const old = await registration.pushManager.getSubscription();
    if (!old) throw error;
    await old.unsubscribe();
    return registration.pushManager.subscribe(options);
  }
}

async function show() {
  if ((await Notification.requestPermission()) !== "granted") return "refused";
  const registration = await navigator.serviceWorker.register(form.dataset.worker);
  await activated(registration);
  const { endpoint, keys } = (await subscribed(registration)).toJSON();
  form.elements.endpoint.value = endpoint;
  form.elements.p256dh.value = keys.p256dh;
  form.elements.auth.value = keys.auth;
  form.submit();
  return "";
}

if (form && isAble) {
  form.hidden = false;
  unable.hidden = true;
  const button = form.querySelector("button");
  button.addEventListener("click", async () => {
    button.disabled = true;
    const problem = await show().catch(() => "failed");
    for (const part of form.querySelectorAll("[data-push-problem]"))
      part.hidden = part.dataset.pushProblem !== problem;
    button.disabled = problem === "";
  });
}
