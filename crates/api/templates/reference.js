// Shows the document below the page's own path. Credentials are forgotten with the page, and the document is sent to
// nobody to be judged.
const element = document.getElementById("reference");
SwaggerUIBundle({
  domNode: element,
  url: element.dataset.document,
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  displayOperationId: true,
  filter: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  showExtensions: false,
  validatorUrl: null,
});
