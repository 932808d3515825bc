// The notices page: a button that shows notices in this browser. It asks for permission only after it is pressed.
import { keep, subscription } from "./push.js";

const form = document.querySelector("form[data-push]");
const unable = document.querySelector("[data-push-unable]");
const isAble = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

async function show() {
  if ((await Notification.requestPermission()) !== "granted") return "refused";
  const { endpoint, keys } = await subscription(form.dataset.worker, form.dataset.key);
  form.elements.endpoint.value = endpoint;
  form.elements.p256dh.value = keys.p256dh;
  form.elements.auth.value = keys.auth;
  await keep(endpoint, form.dataset.worker);
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
