<?php

// Reads an answer whose stream brings nothing and has no end, and prints what came of it.

declare(strict_types=1);

use Florin\NoAnswerError;
use Florin\Psr18Sender;
use Florin\Request;
use GuzzleHttp\Client;
use GuzzleHttp\Handler\MockHandler;
use GuzzleHttp\Psr7\FnStream;
use GuzzleHttp\Psr7\HttpFactory;
use GuzzleHttp\Psr7\Response;
use GuzzleHttp\Psr7\Utils;

require_once '/usr/share/php/GuzzleHttp/autoload.php';
require getenv('FLORIN_AUTOLOAD');

$stream = FnStream::decorate(Utils::streamFor(''), ['read' => static fn (): string => '', 'eof' => static fn (): bool => false]);
$factory = new HttpFactory();
$client = new Client(['handler' => new MockHandler([new Response(200, [], $stream)])]);
try {
    (new Psr18Sender($client, $factory, $factory))->send(new Request('GET', 'http://127.0.0.1/', [], null, true));
    echo 'read';
} catch (NoAnswerError) {
    echo 'NoAnswerError';
}
