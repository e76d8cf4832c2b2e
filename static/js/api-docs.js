// The API reference: Swagger UI of drf-spectacular's sidecar, started without a script in the page.
const place = document.getElementById("swagger");
SwaggerUIBundle({ url: place.dataset.schema, domNode: place, deepLinking: true, validatorUrl: null, tryItOutEnabled: false });
