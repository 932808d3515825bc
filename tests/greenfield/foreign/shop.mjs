// Sells, refunds and keeps webhooks with npm's btcpay-greenfield-node-client. Prints what each call returned, as JSON.
// The first argument is `order`, or `paid` with the invoice's id after it. BTCPAY_URL, BTCPAY_KEY and BTCPAY_STORE say where.
import { createRequire } from "node:module";

const client = createRequire(import.meta.url)("btcpay-greenfield-node-client");
const { ApiKeysService, AuthorizationService, InvoicesService, OpenAPI, PullPaymentsManagementService } = client;
const { ServerInfoService, StoresService, WebhooksService } = client;

OpenAPI.BASE = process.env.BTCPAY_URL;
OpenAPI.TOKEN = process.env.BTCPAY_KEY;
const storeId = process.env.BTCPAY_STORE;
const [, , step, invoiceId] = process.argv;

async function order() {
  const requestBody = { amount: "25.00", currency: "USD", metadata: { orderId: "1001" } };
  const made = await InvoicesService.invoicesCreateInvoice({ storeId, requestBody });
  const other = await InvoicesService.invoicesCreateInvoice({ storeId, requestBody: { amount: "3.00", currency: "USD" } });
  const hook = await WebhooksService.postWebhooksService({
    storeId,
    requestBody: { url: "https://shop.example/hook", enabled: true, authorizedEvents: { everything: true } },
  });
  const webhooks = await WebhooksService.webhokksGetWebhooks({ storeId });
  const changed = await WebhooksService.putWebhooksService({
    storeId,
    webhookId: hook.id,
    requestBody: { url: "https://shop.example/moved", enabled: false, authorizedEvents: { specificEvents: ["InvoiceSettled"] } },
  });
  const seen = await WebhooksService.webhokksGetWebhook({ storeId, webhookId: hook.id });
  await WebhooksService.deleteWebhooksService({ storeId, webhookId: hook.id });
  return {
    made,
    again: await InvoicesService.invoicesCreateInvoice({ storeId, requestBody }),
    read: await InvoicesService.invoicesGetInvoice({ storeId, invoiceId: made.id }),
    listed: await InvoicesService.invoicesGetInvoices({ storeId }),
    cancelled: await InvoicesService.invoicesMarkInvoiceStatus({
      storeId,
      invoiceId: other.id,
      requestBody: { status: "Invalid" },
    }),
    hook,
    webhooks,
    changed,
    seen,
    key: await ApiKeysService.getApiKeysService(),
    store: await StoresService.storesGetStore({ storeId }),
    // It is led to the login, as a browser that is logged in nowhere.
    consent: await AuthorizationService.getAuthorizationService({
      permissions: ["btcpay.store.canviewinvoices"],
      applicationName: "Tea",
      redirect: "https://shop.example/back",
    }),
    left: await WebhooksService.webhokksGetWebhooks({ storeId }),
    server: await ServerInfoService.serverInfoGetServerInfo(),
    stores: await StoresService.storesGetStores(),
  };
}

async function paid() {
  return {
    read: await InvoicesService.invoicesGetInvoice({ storeId, invoiceId }),
    methods: await InvoicesService.invoicesGetInvoicePaymentMethods({ storeId, invoiceId }),
    refund: await PullPaymentsManagementService.pullPaymentsCreatePullPayment({
      storeId,
      requestBody: { name: "Refund of order 1001", amount: "5.00", currency: "USD", paymentMethods: ["USDC-BASE"] },
    }),
  };
}

console.log(JSON.stringify(await (step === "order" ? order() : paid())));
