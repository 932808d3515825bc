// What the wallets' modules share: how a payment fails, and asking the server for what a page cannot do.
export class PaymentError extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

// `reason` is what to say if there is no answer, or none that says more.
export async function askServer(action, question, reason) {
  let answer = null;
  try {
    answer = await fetch(`${location.pathname}/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
    });
  } catch {
    throw new PaymentError(reason);
  }
  if (answer.ok) return answer.json();
  if (answer.status >= 500) throw new PaymentError(reason);
  const { error } = await answer.json();
  throw new PaymentError(error.code === "funds_insufficient" ? "funds" : "unprepared");
}
