// Passkeys in forms (Web Authentication Level 3). A form with `data-passkey` carries what the server offers in
// `data-options`; its submission asks the browser for a passkey first and sends the answer in the field `credential`. What is marked
// `data-without-passkeys` is for browsers that have none.
(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  // The parse functions of the standard, for browsers that lack them.
  const parsed = (kind, given) => {
    const parse = kind === "create" ? "parseCreationOptionsFromJSON" : "parseRequestOptionsFromJSON";
    if (PublicKeyCredential[parse]) return PublicKeyCredential[parse](given);
    const list = (items) => (items || []).map((item) => ({ ...item, id: bytes(item.id) }));
    const options = { ...given, challenge: bytes(given.challenge) };
    if (kind === "create") {
      options.user = { ...given.user, id: bytes(given.user.id) };
      options.excludeCredentials = list(given.excludeCredentials);
    } else {
      options.allowCredentials = list(given.allowCredentials);
    }
    return options;
  };

  const json = (credential) => {
    if (credential.toJSON) return credential.toJSON();
    const response = { clientDataJSON: text(credential.response.clientDataJSON) };
    if (credential.response.attestationObject) {
      response.attestationObject = text(credential.response.attestationObject);
      response.transports = credential.response.getTransports ? credential.response.getTransports() : [];
    } else {
      response.authenticatorData = text(credential.response.authenticatorData);
      response.signature = text(credential.response.signature);
      if (credential.response.userHandle) response.userHandle = text(credential.response.userHandle);
    }
    return {
      id: credential.id,
      rawId: text(credential.rawId),
      type: credential.type,
      authenticatorAttachment: credential.authenticatorAttachment || undefined,
      clientExtensionResults: credential.getClientExtensionResults(),
      response,
    };
  };

  // A form has a place for what went wrong.
  const say = (form, message) => {
    const problem = form.querySelector("[role=alert]");
    problem.textContent = message;
    problem.hidden = !message;
  };

  if (!window.PublicKeyCredential) return;
  for (const other of document.querySelectorAll("[data-without-passkeys]")) other.hidden = true;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const field = form.elements.credential;
    const button = form.querySelector("button");
    form.hidden = false;
    // A page that the browser shows again keeps no answer.
    addEventListener("pageshow", () => { field.value = ""; });
    form.addEventListener("submit", async (event) => {
      if (field.value) return;
      event.preventDefault();
      const kind = form.dataset.passkey;
      say(form, "");
      button.disabled = true;
      try {
        const publicKey = parsed(kind, JSON.parse(form.dataset.options));
        const credential = await navigator.credentials[kind]({ publicKey });
        field.value = JSON.stringify(json(credential));
        form.requestSubmit();
      } catch {
        say(form, form.dataset.failed);
      } finally {
        button.disabled = false;
      }
    });
  }
})();
