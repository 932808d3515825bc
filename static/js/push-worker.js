// Shows notices that this browser's push service brings, and opens their page. It keeps nothing and answers no requests.
self.addEventListener("push", (event) => {
  const note = event.data.json();
  const shown = { body: note.text, tag: note.tag, data: { url: note.url } };
  event.waitUntil(self.registration.showNotification(note.title, shown));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url } = event.notification.data;
  // Only we can encrypt for this browser. Still, nothing but our own pages is opened.
  if (new URL(url).origin === self.location.origin) event.waitUntil(self.clients.openWindow(url));
});
