// The start of the reference page: Swagger UI with this host's document.

/** @type {any} */ (globalThis).SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  tryItOutEnabled: true,
  // Otherwise the document's address is sent to a validator on another host.
  validatorUrl: null,
});
