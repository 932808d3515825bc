<?php

declare(strict_types=1);

namespace Florin;

/**
 * The API refused. Branch on `$reason`, which is the error's `code`; `$param` names the field, `$requestId` is for questions to the operator.
 *
 * `$requiredScope` is what the key lacks, `$refundable` what a refund could be, `$retryAfter` the seconds to wait. All of them are null
 * where they do not apply, and `$reason` too where the answer came from something before Florin, such as a proxy.
 */
final class ApiError extends FlorinError
{
    public readonly int $status;
    public readonly ?string $type;
    public readonly ?string $reason;
    public readonly ?string $param;
    public readonly ?string $requiredScope;
    public readonly ?string $refundable;
    public readonly ?string $requestId;
    public readonly ?int $retryAfter;

    public function __construct(Reply $reply)
    {
        $told = self::told($reply->body);
        $text = static fn (string $name): ?string => is_string($told[$name] ?? null) ? $told[$name] : null;
        $this->status = $reply->status;
        $this->type = $text('type');
        // Every exception of PHP has a number called `code`, hence the other name.
        $this->reason = $text('code');
        $this->param = $text('param');
        $this->requiredScope = $text('required_scope');
        $this->refundable = $text('refundable');
        $this->requestId = $reply->headers['x-request-id'] ?? null;
        $wait = $reply->headers['retry-after'] ?? '';
        $this->retryAfter = preg_match('/^[0-9]{1,9}\z/', $wait) === 1 ? (int) $wait : null;
        $message = $text('message') ?? 'The answer has no reason.';
        parent::__construct($message . " ({$reply->status}" . ($this->reason === null ? '' : " {$this->reason}") . ')');
    }

    /** @return array<mixed> */
    private static function told(string $body): array
    {
        $found = json_decode($body, true);
        $error = is_array($found) ? ($found['error'] ?? null) : null;
        return is_array($error) ? $error : [];
    }
}
