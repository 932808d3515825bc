// Passkeys: <form data-passkey="create|get"> with a hidden field `credential`, a button [data-passkey-go], and where the
// server's options are: data-options="id of a JSON script", or data-options-url for a login that names nobody yet.

async function optionsOf(form) {
  if (!form.dataset.optionsUrl)
    return JSON.parse(document.getElementById(form.dataset.options).textContent);
  const answer = await fetch(form.dataset.optionsUrl, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`options: ${answer.status}`);
  return answer.json();
}

async function create(options) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.creation_options.publicKey);
  // Kept on the device and opened by its owner: only then is it enough to log in with.
  publicKey.authenticatorSelection = {
    ...publicKey.authenticatorSelection,
    residentKey: "required",
    requireResidentKey: true,
    userVerification: "required",
  };
  return navigator.credentials.create({ publicKey });
}

function get(options) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.request_options.publicKey);
  return navigator.credentials.get({ publicKey });
}

async function use(form) {
  const options = await optionsOf(form);
  const credential = await (form.dataset.passkey === "create" ? create(options) : get(options));
  form.elements.credential.value = JSON.stringify(credential.toJSON());
  form.submit();
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const problem = form.querySelector("[data-passkey-problem]");
  const button = form.querySelector("[data-passkey-go]");
  button.addEventListener("click", async () => {
    problem.hidden = true;
    try {
      await use(form);
    } catch {
      // Closed by the person, no such passkey, or an old browser: all of them mean "another way".
      problem.hidden = false;
    }
  });
  // Until now a press would have done nothing.
  button.disabled = false;
}
