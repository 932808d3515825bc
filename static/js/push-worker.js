// Shows notices that this browser's push service brings, and opens their page. It keeps nothing. Of a till it answers one thing: that
// there is no connection, where the browser would show a page of its own.
const NO_CONNECTION = [
  '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
  '<meta name="color-scheme" content="light dark"><title>Till</title><h1>No connection</h1>',
  '<p>Nothing can be charged until it is back.</p><p><a href="/till/">Try again</a></p>',
].join("");

self.addEventListener("push", (event) => {
  const note = event.data.json();
  const shown = { body: note.text, tag: note.tag, data: { url: note.url } };
  if (note.mute) {
    shown.data.mute = note.mute;
    shown.actions = [{ action: "mute", title: note.mute.label }];
  }
  event.waitUntil(self.registration.showNotification(note.title, shown));
});

// Its link is the permission, so no login is needed. What became of it is shown as a notice.
async function stop({ path, done, failed }) {
  const told = await fetch(new URL(path, self.location.origin).pathname, { method: "POST" }).catch(() => null);
  await self.registration.showNotification(told?.ok ? done : failed, { tag: "mute" });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url, mute } = event.notification.data;
  if (event.action === "mute") return event.waitUntil(stop(mute));
  // Only we can encrypt for this browser. Still, nothing but our own pages is opened.
  if (new URL(url).origin === self.location.origin) event.waitUntil(self.clients.openWindow(url));
});

self.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.mode !== "navigate" || !pathname.startsWith("/till/")) return;
  const words = () =>
    new Response(NO_CONNECTION, { status: 503, headers: { "Content-Type": "text/html; charset=utf-8" } });
  event.respondWith(fetch(event.request).catch(words));
});
