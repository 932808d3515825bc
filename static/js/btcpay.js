// What a BTCPay Server plugin calls for its modal. Our page is never framed, so the whole window goes there.
(() => {
  const script = document.currentScript;
  let base = script ? script.src.replace(/\/modal\/btcpay\.js.*$/, "") : "";
  window.btcpay = {
    setApiUrlPrefix: (address) => {
      base = address.replace(/\/$/, "");
    },
    showInvoice: (id) => window.top.location.assign(`${base}/i/${encodeURIComponent(id)}`),
    showFrame: () => {},
    hideFrame: () => {},
    onModalWillEnter: () => {},
    onModalWillLeave: () => {},
    onModalReceiveMessage: () => {},
  };
})();
