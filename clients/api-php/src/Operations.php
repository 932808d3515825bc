<?php

// All resources. Written by script/clients.

declare(strict_types=1);

namespace Florin;

abstract class Operations
{
    public readonly Operations\Chains $chains;
    public readonly Operations\Checkouts $checkouts;
    public readonly Operations\Currencies $currencies;
    public readonly Operations\Disruptions $disruptions;
    public readonly Operations\Events $events;
    public readonly Operations\Inbox $inbox;
    public readonly Operations\Key $key;
    public readonly Operations\LinkTemplates $linkTemplates;
    public readonly Operations\Links $links;
    public readonly Operations\Payouts $payouts;
    public readonly Operations\Refunds $refunds;
    public readonly Operations\Reports $reports;
    public readonly Operations\Terminals $terminals;
    public readonly Operations\Transactions $transactions;
    public readonly Operations\Waitlist $waitlist;
    public readonly Operations\Wallets $wallets;
    public readonly Operations\WebhookDeliveries $webhookDeliveries;
    public readonly Operations\WebhookEndpoints $webhookEndpoints;
    public readonly Operations\X402 $x402;

    protected function __construct(Caller $caller)
    {
        $this->chains = new Operations\Chains($caller);
        $this->checkouts = new Operations\Checkouts($caller);
        $this->currencies = new Operations\Currencies($caller);
        $this->disruptions = new Operations\Disruptions($caller);
        $this->events = new Operations\Events($caller);
        $this->inbox = new Operations\Inbox($caller);
        $this->key = new Operations\Key($caller);
        $this->linkTemplates = new Operations\LinkTemplates($caller);
        $this->links = new Operations\Links($caller);
        $this->payouts = new Operations\Payouts($caller);
        $this->refunds = new Operations\Refunds($caller);
        $this->reports = new Operations\Reports($caller);
        $this->terminals = new Operations\Terminals($caller);
        $this->transactions = new Operations\Transactions($caller);
        $this->waitlist = new Operations\Waitlist($caller);
        $this->wallets = new Operations\Wallets($caller);
        $this->webhookDeliveries = new Operations\WebhookDeliveries($caller);
        $this->webhookEndpoints = new Operations\WebhookEndpoints($caller);
        $this->x402 = new Operations\X402($caller);
    }
}
