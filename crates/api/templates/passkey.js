// Passkeys in forms (Web Authentication Level 3). A form with `data-passkey` carries what the server offers in
// `data-options`; its submission asks the browser for a passkey first and sends the answer in the field `credential`.
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

  const say = (form, message) => {
    let problem = form.querySelector("[role=alert]");
    if (!problem) {
      problem = document.createElement("p");
      problem.className = "problem";
      problem.setAttribute("role", "alert");
      form.prepend(problem);
    }
    problem.textContent = message;
  };

  if (!window.PublicKeyCredential) return;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      const field = form.elements.credential;
      if (field.value) return;
      event.preventDefault();
      const kind = form.dataset.passkey;
      try {
        const publicKey = parsed(kind, JSON.parse(form.dataset.options));
        const credential = await navigator.credentials[kind]({ publicKey });
        field.value = JSON.stringify(json(credential));
        form.requestSubmit();
      } catch {
        say(form, form.dataset.failed);
      }
    });
  }
})();
