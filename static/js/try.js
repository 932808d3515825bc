// Sends a request of the reference to this installation. The test key is in its field alone: it is stored nowhere, and gone with the page.
const opener = document.querySelector("[data-tries]");
const dialog = document.querySelector("[data-try]");
const form = dialog.querySelector("form");
const { operation: choice, key, body } = form.elements;
const fields = form.querySelector("[data-fields]");
const withBody = form.querySelector("[data-body]");
const send = form.querySelector("[data-send]");
const status = form.querySelector("[data-status]");
const answer = form.querySelector("[data-answer]");
const METHODS = ["get", "post", "put", "patch", "delete"];
const operations = new Map();

async function load() {
  if (operations.size) return;
  const { paths, tags } = await (await fetch(dialog.dataset.try)).json();
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of METHODS) {
      if (methods[method]) operations.set(methods[method].operationId, { ...methods[method], path, method });
    }
  }
  for (const { name } of tags) {
    const group = document.createElement("optgroup");
    group.label = name;
    for (const [id, { summary, tags: [tag] }] of operations) if (tag === name) group.append(new Option(summary, id));
    if (group.children.length) choice.append(group);
  }
}

// A field for a parameter of the path, the query or the headers.
function fieldOf({ name, in: place, required = false, schema = {} }) {
  const label = document.createElement("label");
  const values = schema.enum?.filter((value) => value !== null);
  const field = document.createElement(values ? "select" : "input");
  if (values) field.append(new Option("", ""), ...values.map((value) => new Option(value)));
  Object.assign(field, { name: `${place}:${name}`, required, autocomplete: "off", spellcheck: false });
  label.append(`${name}${required ? "" : ", optional"}`, field);
  return label;
}

function show() {
  const { path, method, parameters = [], requestBody, security } = operations.get(choice.value);
  form.querySelector("[data-line]").textContent = `${method.toUpperCase()} ${path}`;
  fields.replaceChildren(...parameters.map(fieldOf));
  key.required = security.length > 0;
  withBody.hidden = body.disabled = !requestBody;
  const example = requestBody?.content["application/json"]?.example ?? {};
  body.value = requestBody ? JSON.stringify(example, null, 2) : "";
  status.textContent = answer.textContent = "";
  answer.hidden = true;
}

// The operation that the reference shows, such as that of #/checkouts/createcheckout.
function chooseShown() {
  const parts = location.hash.toLowerCase().split("/");
  const id = [...operations.keys()].find((name) => parts.includes(name.toLowerCase()));
  if (id) choice.value = id;
}

function requestOf({ path, method, parameters = [], requestBody }) {
  const given = (place, name) => form.elements[`${place}:${name}`]?.value ?? "";
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(given("path", name)));
  const url = new URL(filled, location.origin);
  const headers = { Accept: "application/json" };
  if (key.value) headers.Authorization = `Bearer ${key.value}`;
  for (const { name, in: place } of parameters) {
    const value = given(place, name);
    if (value && place === "query") url.searchParams.append(name, value);
    if (value && place === "header") headers[name] = value;
  }
  const options = { method: method.toUpperCase(), headers, credentials: "omit", cache: "no-store", redirect: "error" };
  if (requestBody) {
    headers["Content-Type"] = "application/json";
    options.body = body.value;
  }
  return [url, options];
}

async function textOf(got) {
  const type = got.headers.get("Content-Type") ?? "";
  if (!/json|text|svg/.test(type)) return `${type}, ${(await got.blob()).size} bytes`;
  const text = await got.text();
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  send.disabled = true;
  status.textContent = "Sending";
  try {
    const got = await fetch(...requestOf(operations.get(choice.value)));
    answer.textContent = await textOf(got);
    const id = got.headers.get("X-Request-Id");
    status.textContent = `Answer: ${got.status}${id ? `, request ${id}` : ""}`;
  } catch {
    answer.textContent = "";
    status.textContent = "No answer. A copy of the documentation on another server has no API.";
  }
  answer.hidden = !answer.textContent;
  send.disabled = false;
});

choice.addEventListener("change", show);
opener.addEventListener("click", async () => {
  await load();
  const before = choice.value;
  chooseShown();
  if (choice.value !== before || !fields.dataset.shown) show();
  fields.dataset.shown = "yes";
  dialog.showModal();
});
form.querySelector("[data-closes]").addEventListener("click", () => dialog.close());
// A page that the browser keeps for its Back button keeps no key.
addEventListener("pagehide", () => {
  key.value = "";
});
opener.hidden = false;
