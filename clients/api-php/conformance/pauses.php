<?php

// Makes calls that get no answer, and prints how long the client would have paused before each repeat, in seconds. Argument: how many calls.

declare(strict_types=1);

namespace Florin;

require getenv('FLORIN_AUTOLOAD');

final class Paused
{
    /** @var list<float> */
    public static array $seconds = [];
}

/** Called instead of PHP's own, which is in no namespace. */
function usleep(int $microseconds): void
{
    Paused::$seconds[] = $microseconds / 1_000_000;
}

$sender = new class () implements Sender {
    public function send(Request $request): Reply
    {
        throw new NoAnswerError('no answer');
    }
};
$florin = new Florin('http://127.0.0.1:1', 'sk_test_conformance', sender: $sender);
$found = [];
for ($number = 0; $number < (int) $argv[1]; $number++) {
    Paused::$seconds = [];
    try {
        $florin->key->get();
    } catch (NoAnswerError) {
        $found[] = Paused::$seconds;
    }
}
echo json_encode($found, JSON_THROW_ON_ERROR);
