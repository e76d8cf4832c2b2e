// npm oidc-provider with its own development log-in page: PKCE is required, any password is taken.
// argv[2]: JSON {port, client_id, client_secret, redirect_uris, post_logout_redirect_uris, accounts: {subject: claims}}
import Provider from 'oidc-provider';

const settings = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${settings.port}`;

const provider = new Provider(issuer, {
  clients: [{
    client_id: settings.client_id,
    client_secret: settings.client_secret,
    redirect_uris: settings.redirect_uris,
    post_logout_redirect_uris: settings.post_logout_redirect_uris,
    response_types: ['code'],
    grant_types: ['authorization_code'],
  }],
  claims: { openid: ['sub', 'sid'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: true, // claims of scopes come from userinfo only, as the specification says
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ['only-for-tests'] },
  findAccount: async (_, subject) => ({
    accountId: subject,
    claims: async () => ({ sub: subject, ...settings.accounts[subject] }),
  }),
});

// The parent holds our standard input; when it dies, so do we.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
provider.listen(settings.port, '127.0.0.1', () => console.log('ready'));
